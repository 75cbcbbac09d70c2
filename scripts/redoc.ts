import { createHash } from 'node:crypto';
import { INLINE_SCRIPT } from '../src/http/pages/docs.js';

/**
 * Moves the modules of Redoc's page to files, so that the page's policy can forbid inline scripts. One small script stays
 * inline: the policy allows it by its hash.
 */
export function separated(built: string): { readonly html: string; readonly scripts: Record<string, string> } {
  const [before = '', redoc = '', contract = '', after = '', ...others] = built.split(
    /<script type="module">\s*(?=\/\*)|(?=const __redoc_definition = )|(?<=getElementById\('redoc'\)\);)\s*<\/script>/,
  );
  if (!after || others.length > 0)
    throw new Error('Redoc builds its page differently: adapt separated() in scripts/redoc.ts.');
  const [, inline = ''] = /<script>([^<]*)<\/script>/.exec(before) ?? [];
  const hash = `'sha256-${createHash('sha256').update(inline).digest('base64')}'`;
  if (hash !== INLINE_SCRIPT)
    throw new Error(
      inline === ''
        ? "Redoc's inline script was not found in its page: adapt scripts/redoc.ts."
        : `Redoc's inline script changed: review it, then set INLINE_SCRIPT in src/http/pages/docs.ts to ${hash}.`,
    );
  const modules = ['redoc.js', 'contract.js'].map((name) => `<script type="module" src="/docs/${name}"></script>`);
  return {
    html: `${withHashes(withoutSearch(before))}${modules.join('')}${after}`,
    scripts: {
      // Remove the address of the vendor's logo: it is the only remote resource, which the policy would block anyway.
      'redoc.js': changed(redoc).replaceAll(/https:\/\/cdn\.redoc\.ly\/[^`]*/g, 'data:,'),
      'contract.js': `import { hydrate } from './redoc.js';\n${contract}\n`,
    },
  };
}

/** Adds to prerendered links the hash by which Redoc's script routes. */
const withHashes = (rendered: string): string =>
  rendered.replaceAll(/(<a [^>]*href=")(?=\/(?!docs\/|openapi\.json|llms\.txt|workbench"))/g, '$1#');

/** Removes the field of Redoc's search, which its script does not expect in the page. */
function withoutSearch(rendered: string): string {
  const [before = '', after, ...others] = rendered.split(
    /<div class="[^"]*"><div data-testid="search-trigger".*?(?:<\/div>){3}/,
  );
  if (after === undefined || others.length > 0)
    throw new Error("Redoc's page must have its search exactly once: adapt withoutSearch() in scripts/redoc.ts.");
  return before + after;
}

/** Changes of Redoc's script: each key is replaced with its value. */
const CHANGES = {
  // The prerendered menu marks its first item as active: if the address names another one, render from scratch.
  'if(r.childElementCount===0){': 'if(location.hash){',
  // The page has a search of its own, which works before this script does.
  '(0,V.jsx)(jOe,{items:e,store:t,basePath:l,document:q(s)?s:void 0})': 'null',
  // Do not render the operation that ends under the page's header: it would move the one below, which a link names.
  'HH=`0px 0px 200px 0px`': 'HH=`-60px 0px 200px 0px`',
  // Remove the colors of nested names, which are too pale to read; the theme's color then applies.
  '[`#9D00FF`,`#615CEA`,`#147DF5`,`#08BFCC`,`#08CC7A`,`#81CC08`,`#E5BE00`,`#FF8700`,`#FF00B8`]': '[]',
};

const changed = (script: string): string =>
  Object.entries(CHANGES).reduce((text, [from, to]) => {
    if (text.split(from).length !== 2)
      throw new Error(`Redoc's script must have ${from} exactly once: adapt CHANGES in scripts/redoc.ts.`);
    return text.replace(from, to);
  }, script);
