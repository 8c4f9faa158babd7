/** Text inside of HTML. Knows nothing of pages. */

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** The text as it may stand between tags and in attributes that are quoted. */
export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, char => ESCAPES[char]!);
