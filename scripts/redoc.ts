import { createHash } from 'node:crypto';
import { INLINE_SCRIPT } from '../src/http/pages/docs.js';

/** Takes the page that Redoc built apart, so that its policy can forbid inline scripts. */
export function separated(built: string): { readonly html: string; readonly scripts: Record<string, string> } {
  const [before = '', redoc = '', contract = '', after = '', ...others] = built.split(
    /<script type="module">\s*(?=\/\*)|(?=const __redoc_definition = )|(?<=getElementById\('redoc'\)\);)\s*<\/script>/,
  );
  if (!after || others.length > 0) throw new Error('Redoc builds its page differently: adapt scripts/redoc.ts.');
  const [, inline = ''] = /<script>([^<]*)<\/script>/.exec(before) ?? [];
  const hash = `'sha256-${createHash('sha256').update(inline).digest('base64')}'`;
  if (hash !== INLINE_SCRIPT) throw new Error(`Redoc's inline script has the hash ${hash}: change INLINE_SCRIPT.`);
  const modules = ['redoc.js', 'contract.js'].map((name) => `<script type="module" src="/docs/${name}"></script>`);
  return {
    html: `${withHashes(before)}${modules.join('')}${after}`,
    scripts: {
      // The vendor's logo is the only remote resource. The page's policy blocks it; without its address it is not requested.
      'redoc.js': changed(redoc).replaceAll(/https:\/\/cdn\.redoc\.ly\/[^`]*/g, 'data:,'),
      'contract.js': `import { hydrate } from './redoc.js';\n${contract}\n`,
    },
  };
}

/** Redoc's script routes by a hash that its prerendered links lack. */
const withHashes = (rendered: string): string =>
  rendered.replaceAll(/(<a [^>]*href=")(?=\/(?!docs\/|openapi\.json|workbench"))/g, '$1#');

/** Changes of Redoc's script. */
const CHANGES = {
  // The menu of the prerendered page keeps its start as the present item: render the page of another link from scratch.
  'if(r.childElementCount===0){': 'if(location.hash){',
  // Its search knows the whole guide as one page: make each section one.
  'content:null},children:i}}': 'content:null,ast:e.ast},children:i}}',
  'addItem(e,t=[]){':
    'addItem(e,t=[]){e.ast&&this.#e.push({id:e.link,url:e.link,title:e.label,text:this.#i(e.ast.slice(1)),path:t});',
  // Colors of nested names, which are too pale to read: without them they have those of the theme.
  '[`#9D00FF`,`#615CEA`,`#147DF5`,`#08BFCC`,`#08CC7A`,`#81CC08`,`#E5BE00`,`#FF8700`,`#FF00B8`]': '[]',
};

const changed = (script: string): string =>
  Object.entries(CHANGES).reduce((text, [from, to]) => {
    if (text.split(from).length !== 2)
      throw new Error(`Redoc's script does not have ${from} once: adapt scripts/redoc.ts.`);
    return text.replace(from, to);
  }, script);
