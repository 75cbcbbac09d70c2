import ts from 'typescript';

/** The declarations of Redoc 3.0.1 that this page never needs, by their minified names, with their replacements. */
const UNUSED: Readonly<Record<string, string>> = {
  // Loading, bundling and converting of documents: the page has its own.
  B9: 'function B9(){}',
  NHe: 'function NHe(){}',
  OHe: 'function OHe(){}',
  W9: 'function W9(e){return e}',
  // AsyncAPI and GraphQL.
  jNe: 'jNe={}',
  NNe: 'NNe=()=>{}',
  nFe: 'nFe=()=>{}',
  $Pe: '$Pe={}',
  hxe: 'hxe=()=>{}',
  y$: 'y$=()=>{}',
  // Telemetry, which is off.
  nce: 'nce=class{send(){}startSpan(){}traceStep(){}async forceFlush(){}async shutdown(){}}',
  // Search in a worker, which the page's policy forbids: it starts one by `Function`.
  ZDe: 'function ZDe(){return!1}',
  // Bodies in XML.
  P_: 'P_=()=>{}',
  fI: 'fI=()=>{}',
  // Named characters of HTML, such as &eacute;: the contract's texts have the characters themselves.
  Fhe: 'Fhe=()=>({})',
  aB: 'aB=new Uint16Array(1)',
  // Icons of programming languages.
  Kpe: 'Kpe={}',
};
const START = 'const{RedocStandalone,hydrate,init}=(()=>{';
const END = 'return typeof document<`u`&&console.info(';

interface Declaration {
  readonly names: readonly string[];
  readonly text: string;
}

/** Redoc's script without what this page never needs. Two thirds of a first visit are this script. */
export function withoutUnused(script: string): string {
  const [from, to] = [script.indexOf(START), script.lastIndexOf(END)];
  if (!script.includes('* Version: 3.0.1\n') || from < 0 || to < 0)
    throw new Error('This is another version of Redoc: adapt scripts/redocParts.ts.');
  const license = script.slice(0, from);
  const all = declarations(script.slice(from + START.length, to));
  const byName = new Map(all.flatMap((one) => one.names.map((name) => [name, one])));
  const needed = new Set<Declaration>();
  const add = (one: Declaration): void => {
    if (needed.has(one)) return;
    needed.add(one);
    // Not the members of an object. A local name that equals a global one keeps more than necessary.
    for (const [name] of one.text.matchAll(/(?<![\w$]|(?<!\.\.)\.)[\w$]+/g)) {
      const used = byName.get(name);
      if (used) add(used);
    }
  };
  for (const one of all) if (one.names.length === 0 || one.names.includes('hydrate')) add(one);
  return `${license}${all.flatMap((one) => (needed.has(one) ? one.text : [])).join(';\n')};\nexport{hydrate};\n`;
}

/** The declarations and statements of a script. */
function declarations(script: string): Declaration[] {
  const source = ts.createSourceFile('redoc.js', script, ts.ScriptTarget.Latest, false, ts.ScriptKind.JS);
  const missing = new Set(Object.keys(UNUSED));
  const replaced = (names: readonly string[], text: string, prefix = ''): Declaration => {
    const [name = ''] = names;
    const stub = UNUSED[name];
    missing.delete(name);
    return { names, text: stub?.startsWith('function') ? stub : `${prefix}${stub ?? text}` };
  };
  const found = source.statements.flatMap((statement): Declaration[] => {
    const text = (node: ts.Node): string => script.slice(node.getStart(source), node.end);
    if (ts.isVariableStatement(statement))
      return statement.declarationList.declarations.map((one) => replaced(namesOf(one.name), text(one), 'var '));
    const name = (ts.isFunctionDeclaration(statement) || ts.isClassDeclaration(statement)) && statement.name?.text;
    return [name ? replaced([name], text(statement)) : { names: [], text: text(statement) }];
  });
  if (missing.size > 0) throw new Error(`Redoc has no ${[...missing].join(', ')}: adapt scripts/redocParts.ts.`);
  return found;
}

const namesOf = (name: ts.BindingName): string[] =>
  ts.isIdentifier(name)
    ? [name.text]
    : name.elements.flatMap((element) => (ts.isOmittedExpression(element) ? [] : namesOf(element.name)));
