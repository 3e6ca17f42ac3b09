/** Something that test files of one process share: opened for the first that asks, closed when every one that asked has closed it. */

interface Closable {
  close(): Promise<void>;
}

export function shared<T extends Closable>(open: () => Promise<T>): () => Promise<T> {
  let opened: Promise<T> | undefined;
  let users = 0;
  return async () => {
    users += 1;
    opened ??= open();
    const found = await opened;
    const close = async (): Promise<void> => {
      users -= 1;
      if (users > 0) return;
      opened = undefined;
      await found.close();
    };
    return { ...found, close };
  };
}
