/** Tools that are reached by a browser, by their words in `spec.tools`. */
export const BROWSER_TOOLS = { Jupyter: 'jupyter', VSCode: 'vscode' } as const;
export type BrowserTool = (typeof BROWSER_TOOLS)[keyof typeof BROWSER_TOOLS];
