/** The page that a webview starts from: nothing but its own script and styles may run. Knows nothing of what it shows. */

export interface Shell {
  /** What `data-view` says; also what the page is called. */
  view: string;
  title: string;
  /** The webview's own origin for the content-security policy. */
  cspSource: string;
  nonce: string;
  script: string;
  /** The stylesheet with the icons has an id that the toolkit looks for. */
  styles: readonly { href: string; id?: string }[];
}

export function shell({ view, title, cspSource, nonce, script, styles }: Shell): string {
  const policy = [
    "default-src 'none'",
    `img-src ${cspSource} data:`,
    `font-src ${cspSource}`,
    `style-src ${cspSource} 'nonce-${nonce}'`,
    `script-src 'nonce-${nonce}'`,
  ].join('; ');
  const links = styles.map(
    ({ href, id }) =>
      `<link rel="stylesheet" nonce="${nonce}" href="${escape(href)}"${id === undefined ? '' : ` id="${id}"`}>`,
  );
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta property="csp-nonce" content="${nonce}">
<title>${escape(title)}</title>
${links.join('\n')}
</head>
<body data-view="${escape(view)}">
<script nonce="${nonce}" src="${escape(script)}"></script>
</body>
</html>
`;
}

const ESCAPES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
const escape = (text: string): string => text.replace(/[&<>"']/g, char => ESCAPES[char]!);
