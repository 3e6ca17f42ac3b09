/** How often the event loop turns until the work is done: not once when the work holds it. */
export async function turnsDuring(work: () => unknown): Promise<number> {
  let turns = 0;
  const count = (): void => {
    turns += 1;
    turning = setImmediate(count);
  };
  let turning = setImmediate(count);
  try {
    await work();
  } finally {
    clearImmediate(turning);
  }
  return turns;
}
