import { ApiError } from '../client/errors.js';
import { authorizedFetch } from '../client/transport.js';
import { attempt, button, element, notify, part, show, table } from '../workbench/page.js';
import { refuseLive } from '../workbench/session.js';

type Send = (request: Request) => Promise<Response>;

/** A request of the contract's examples, which `make docs` writes to samples.json by the section of its operation. */
interface Sample {
  readonly isPublic: boolean;
  /** The request line, headers and body. */
  readonly text: string;
}

/** The loaded samples; undefined also after a failed request, so that the next click repeats it. */
let samples: Readonly<Record<string, Sample>> | undefined;
/** The credentials of a sandbox, kept only in the memory of this tab. */
let session: { readonly clientId: string; readonly clientSecret: string; readonly send: Send } | undefined;

/** A button that opens the sample of an operation, to be edited and sent to this service. */
export const runButton = (section: string): HTMLButtonElement => button('Run', () => open(section), { class: 'run' });

async function open(section: string): Promise<void> {
  const dialog = document.querySelector<HTMLDialogElement>('dialog.run') ?? newDialog();
  dialog.showModal();
  await attempt(async () => {
    samples ??= await loadSamples();
    const sample = samples[section];
    if (!sample) throw new Error('This operation has no sample.');
    if (session) showRequest(sample);
    else showSignIn(sample);
  });
}

/** The samples by the section of their operation, such as `/encounters/createencounter`. */
export async function loadSamples(): Promise<NonNullable<typeof samples>> {
  const response = await fetch('/docs/samples.json');
  if (!response.ok) throw await ApiError.of(response);
  return (await response.json()) as NonNullable<typeof samples>;
}

function newDialog(): HTMLDialogElement {
  const dialog = element('dialog', { class: 'run', 'aria-labelledby': 'run-title' });
  dialog.append(
    element('h2', { id: 'run-title' }, 'Run in a sandbox'),
    button('Close', async () => dialog.close(), { class: 'close' }),
    element('p', { id: 'notice', role: 'status' }),
    element('div', { id: 'run-request' }),
    element('div', { id: 'run-response' }),
  );
  document.body.append(dialog);
  dialog.addEventListener('close', () => notify(''));
  return dialog;
}

function showSignIn(sample: Sample): void {
  const id = element('input', { required: true, autocomplete: 'off', spellcheck: 'false' });
  const secret = element('input', { required: true, autocomplete: 'off', type: 'password' });
  const form = element(
    'form',
    {},
    element('p', {}, 'Credentials of a sandbox. They stay in this tab, until you leave the page.'),
    element('label', {}, 'Client id ', id),
    element('label', {}, 'Client secret ', secret),
    element('button', {}, 'Sign in'),
  );
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void attempt(async () => {
      session = await signIn(id.value.trim(), secret.value.trim());
      notify('');
      showRequest(sample);
    });
  });
  show('run-response');
  part('run-request').replaceChildren(form);
  id.focus();
}

/** Obtains a token for a sandbox. @throws Error for a live tenant, whose token is not kept */
async function signIn(clientId: string, clientSecret: string): Promise<NonNullable<typeof session>> {
  const send = authorizedFetch({ baseUrl: location.origin, clientId, clientSecret, retries: 0 });
  const clock = send(new Request('/sandbox/clock'));
  await refuseLive(clock.then(async (response) => response.ok || Promise.reject(await ApiError.of(response))));
  return { clientId, clientSecret, send };
}

function showRequest(sample: Sample): void {
  const text = sample.text.replace('{uuid}', crypto.randomUUID());
  const lines = Math.min(Math.max(text.split('\n').length + 1, 6), 16);
  const request = element('textarea', { id: 'run-text', spellcheck: 'false', rows: String(lines) });
  request.value = text;
  const send = async (): Promise<void> => {
    notify('Sending …');
    await showResponse(sample, request.value);
  };
  const signOut = async (): Promise<void> => {
    session = undefined;
    showSignIn(sample);
  };
  part('run-request').replaceChildren(
    element('label', { for: 'run-text' }, 'Request: change it as you like'),
    request,
    element('div', { class: 'buttons' }, button('Send', send), button('Sign out', signOut)),
  );
  show('run-response');
  request.setSelectionRange(0, 0);
  request.focus();
}

async function showResponse({ isPublic }: Sample, text: string): Promise<void> {
  if (!session) return;
  const started = performance.now();
  const response = await (isPublic ? fetch : session.send)(requestOf(text, session));
  const duration = Math.round(performance.now() - started);
  const headers = [...response.headers];
  const type = response.headers.get('Content-Type') ?? '';
  const body = type.includes('json')
    ? JSON.stringify(await response.json(), null, 2)
    : type.startsWith('text/')
      ? await response.text()
      : `${(await response.arrayBuffer()).byteLength} bytes ${type}`;
  const id = response.headers.get('X-Request-Id') ?? 'none';
  notify(`${response.status} ${response.statusText} in ${duration} ms. Request id: ${id}`, !response.ok);
  show(
    'run-response',
    element('details', {}, element('summary', {}, 'Headers'), table('Headers', ['Name', 'Value'], headers)),
    element('pre', { tabindex: '0', 'aria-label': 'Body' }, body),
  );
}

/** Parses the request that a text describes. @throws Error for another host, which must not get the token */
function requestOf(text: string, credentials: NonNullable<typeof session>): Request {
  const [head = '', ...rest] = text.trim().split('\n\n');
  const [line = '', ...headers] = head.split('\n');
  const [method = '', target = ''] = line.split(' ');
  const url = new URL(target, location.origin);
  if (url.origin !== location.origin) throw new Error('The first line must name a method and a path of this service.');
  const body = rest
    .join('\n\n')
    .replace('$CLIENT_ID', encodeURIComponent(credentials.clientId))
    .replace('$CLIENT_SECRET', encodeURIComponent(credentials.clientSecret));
  return new Request(url, {
    method,
    headers: headers.map((header) => header.split(/: *(.*)/s).slice(0, 2) as [string, string]),
    ...(body ? { body } : {}),
  });
}
