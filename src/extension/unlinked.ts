/** Texts of files and folders as messages show them. Knows nothing of who shows them. */

/** Without links: VS Code makes one of `[text](command:…)` wherever it shows a message, and a click would run the command. */
export const unlinked = (text: string): string => text.replaceAll('](', '] (');
