/** Images of a request: counted by themselves, since their data are no text. */

export interface Images {
  readonly count: number;
  /** Of their data inside the body. */
  readonly characters: number;
  /** The first of them. */
  readonly at: string | undefined;
  /** The first that a server has to fetch from an address. */
  readonly fetchedAt: string | undefined;
}

export const NO_IMAGES: Images = { count: 0, characters: 0, at: undefined, fetchedAt: undefined };

/** A document of pages has at most 100 of them at the vendors, and each becomes an image and its text. */
const IMAGES_OF_A_DOCUMENT = 200;

export interface Image {
  readonly is: 'Image' | 'Document';
  /** Of its data inside the body; 0 for a URL. */
  readonly characters: number;
  /** It is an address, from which a server fetches it. */
  readonly fetched: boolean;
}

export type Part = Readonly<Record<string, unknown>>;

/** A part and where it is, which is put together only for the few that are told. */
export interface PlacedPart {
  readonly part: Part;
  at(): string;
}

export function countImages(parts: Iterable<PlacedPart>, imageOf: (part: Part) => Image | undefined): Images {
  let images = NO_IMAGES;
  for (const { at, part } of parts) {
    const image = imageOf(part);
    if (image === undefined) continue;
    images = {
      count: images.count + (image.is === 'Document' ? IMAGES_OF_A_DOCUMENT : 1),
      characters: images.characters + image.characters,
      at: images.at ?? at(),
      fetchedAt: images.fetchedAt ?? (image.fetched ? at() : undefined),
    };
  }
  return images;
}
