/**
 * The text of `/metrics`. To render it holds the event loop for milliseconds, so it is rendered once for all who ask: one rendering is
 * under way at a time, and its text is kept for KEPT_MS. Other requests cost what it takes to send it.
 */

const KEPT_MS = 1_000;

export interface MetricsText {
  /** The newest, or one that was begun less than KEPT_MS ago. Rejects when it cannot be rendered; that is not kept. */
  read(): Promise<Buffer>;
}

/** `now`: monotonic, ms. */
export function openMetricsText(
  registry: { metrics(): Promise<string> },
  now: () => number = () => performance.now(),
): MetricsText {
  let underWay: Promise<Buffer> | undefined;
  let kept: { readonly text: Buffer; readonly until: number } | undefined;

  async function render(): Promise<Buffer> {
    const until = now() + KEPT_MS;
    try {
      const text = Buffer.from(await registry.metrics());
      kept = { text, until };
      return text;
    } finally {
      underWay = undefined;
    }
  }

  return {
    async read() {
      if (underWay !== undefined) return underWay;
      if (kept !== undefined && now() < kept.until) return kept.text;
      underWay = render();
      return underWay;
    },
  };
}
