/**
 * The tokens of Model `echo`: runs of up to four letters or digits, where everything outside of ASCII is a letter, or one other character.
 * A text is its tokens put together again. Pure.
 */
const LONGEST = 4;

/** At most `most` of them; what is behind is left out. */
export function tokensOf(text: string, most = Infinity): readonly string[] {
  const tokens: string[] = [];
  for (let at = 0; at < text.length && tokens.length < most;) {
    const end = endOf(text, at);
    tokens.push(text.slice(at, end));
    at = end;
  }
  return tokens;
}

export function countEchoTokens(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; at = endOf(text, at)) count += 1;
  return count;
}

/** Just so many tokens. */
export function madeTokens(count: number): readonly string[] {
  return Array.from({ length: count }, (_, at) => (at % 2 === 0 ? 'echo' : ' '));
}

/** Where the token that begins at `at` ends. */
function endOf(text: string, at: number): number {
  if (!isLetter(text, at)) return at + 1;
  let end = at;
  for (let letters = 0; letters < LONGEST && end < text.length && isLetter(text, end); letters += 1) {
    end += isPair(text, end) ? 2 : 1;
  }
  return end;
}

function isLetter(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || (code >= 48 && code <= 57) || code > 127;
}

/** A character of two code units is not split. */
function isPair(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  const next = text.charCodeAt(at + 1);
  return code >= 0xd800 && code <= 0xdbff && next >= 0xdc00 && next <= 0xdfff;
}
