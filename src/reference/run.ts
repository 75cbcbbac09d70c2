import { ApiError } from '../client/errors.js';
import { authorizedFetch } from '../client/transport.js';
import { attempt, notify, onSubmit, part } from '../workbench/page.js';
import { keep, kept, signOut, type Credentials } from '../workbench/session.js';

/** A request from the contract's examples. `make docs` writes them to samples.json, by section of their operation. */
interface Sample {
  readonly isPublic: boolean;
  /** The request line, headers and body. */
  readonly text: string;
}

/** The credentials of a sandbox, and a function that sends requests with a token for these. */
interface Session extends Credentials {
  readonly send: (request: Request) => Promise<Response>;
}

/** The loaded samples; undefined also if loading failed, so that the next click loads them again. */
let samples: Readonly<Record<string, Sample>> | undefined;
let session: Session | undefined;
let isPublic = false;

const dialog = part('run') as HTMLDialogElement;
const text = part('run-text') as HTMLTextAreaElement;
dialog.addEventListener('close', () => notify(''));
onSubmit('run-sign-in', async (fields) => {
  session = await signIn(Object.fromEntries(fields) as unknown as Credentials);
  notify('');
  showForm();
});
onSubmit('run-request', async () => {
  notify('Sending …');
  await showResponse();
});
part('run-sign-out').addEventListener('click', () => {
  signOut();
  session = undefined;
  showForm();
});

/** Opens the sample of an operation, to be edited and sent to this service. */
export async function openSample(section: string): Promise<void> {
  for (const id of ['run-sign-in', 'run-request', 'run-response']) part(id).hidden = true;
  dialog.showModal();
  await attempt(async () => {
    samples ??= await loadSamples();
    const sample = samples[section];
    if (!sample) throw new Error('This operation has no sample: reload the page.');
    const credentials = kept();
    session ??= credentials ? sessionOf(credentials) : undefined;
    isPublic = sample.isPublic;
    text.value = sample.text.replace('{uuid}', crypto.randomUUID());
    text.rows = Math.min(Math.max(text.value.split('\n').length + 1, 6), 16);
    text.setSelectionRange(0, 0);
    showForm();
  });
}

/** The samples by the section of their operation, such as `/encounters/createencounter`. */
async function loadSamples(): Promise<NonNullable<typeof samples>> {
  const response = await fetch('/docs/samples.json');
  if (!response.ok) throw await ApiError.of(response);
  return (await response.json()) as NonNullable<typeof samples>;
}

/** Shows the form for the request, or the one for credentials while there are none. */
function showForm(): void {
  part('run-sign-in').hidden = session !== undefined;
  part('run-request').hidden = session === undefined;
  part('run-response').hidden = true;
  (session ? text : dialog.querySelector('input'))?.focus();
}

const sessionOf = ({ clientId, clientSecret }: Credentials): Session => {
  const options = { baseUrl: location.origin, clientId, clientSecret, retries: 0 };
  return { clientId, clientSecret, send: authorizedFetch(options) };
};

/** Obtains a token for a sandbox. @throws Error for other credentials, such as those of a live tenant, which are not kept */
async function signIn(credentials: Credentials): Promise<Session> {
  const signedIn = sessionOf(credentials);
  const clock = signedIn.send(new Request('/sandbox/clock'));
  const checked = clock.then(async (response) => response.ok || Promise.reject(await ApiError.of(response)));
  await keep(credentials, checked);
  return signedIn;
}

async function showResponse(): Promise<void> {
  if (!session) return;
  const request = requestOf(text.value, session);
  const started = performance.now();
  const response = await (isPublic ? fetch : session.send)(request);
  const duration = Math.round(performance.now() - started);
  const type = response.headers.get('Content-Type') ?? '';
  const body = type.includes('json')
    ? JSON.stringify(await response.json(), null, 2)
    : type.startsWith('text/')
      ? await response.text()
      : `${(await response.arrayBuffer()).byteLength} bytes ${type}`;
  const id = response.headers.get('X-Request-Id') ?? 'none';
  notify(`${response.status} ${response.statusText} in ${duration} ms. Request id: ${id}`, !response.ok);
  part('run-headers').textContent = [...response.headers].map(([name, value]) => `${name}: ${value}\n`).join('');
  part('run-body').textContent = body;
  part('run-response').hidden = false;
}

/** Parses the request that a text describes. @throws Error for another host, which must not get the token */
function requestOf(written: string, credentials: Credentials): Request {
  const [head = '', ...rest] = written.trim().split('\n\n');
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
