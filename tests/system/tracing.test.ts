import { json } from 'node:stream/consumers';
import { openStage } from '../support/stage.js';
import { call } from '../support/http.js';
import { listen } from '../support/objectStores.js';
import { startServer } from '../support/serverProcess.js';
import { expectCleanExit } from './servers.js';

const stage = await openStage();

interface Span {
  readonly name: string;
  readonly traceId: string;
  readonly parentSpanId?: string;
  readonly attributes: { readonly key: string; readonly value: Record<string, unknown> }[];
}

/** An OpenTelemetry receiver on loopback that keeps the spans. */
async function startCollector() {
  const spans: Span[] = [];
  const { server, origin } = await listen((req, res) => {
    void json(req).then((body) => {
      const { resourceSpans } = body as { resourceSpans: { scopeSpans: { spans: Span[] }[] }[] };
      spans.push(...resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans)));
      res.setHeader('Content-Type', 'application/json').end('{}');
    });
  });
  return { url: origin, spans, server };
}

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const traceparent = `00-${traceId}-00f067aa0ba902b7-01`;

it("a request is one span of the caller's trace or of a new one, and its log line names the trace", async () => {
  const collector = await startCollector();
  const standard = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' };
  const server = startServer({ ...stage.environment, ...standard });
  const baseUrl = await server.started;
  await call({ baseUrl }, 'GET /clients/6f1c1a70-0000-4000-8000-000000000000', { headers: { traceparent } });
  await call({ baseUrl }, 'GET /healthz');
  await expectCleanExit(server);
  collector.server.close();

  const traces = server.logged().flatMap(({ msg, trace_id: id }) => (msg === 'request' ? [id] : []));
  expect(traces).toEqual([traceId, expect.stringMatching(/^[0-9a-f]{32}$/)]);
  expect(collector.spans.map(({ name, traceId: id }) => [name, id])).toEqual([
    ['GET /clients/{id}', traces[0]],
    ['GET /healthz', traces[1]],
  ]);
  const [span] = collector.spans;
  expect(span?.parentSpanId).toBe('00f067aa0ba902b7');
  expect(Object.fromEntries(span?.attributes.map(({ key, value }) => [key, Object.values(value)[0]]) ?? [])).toEqual({
    'http.request.method': 'GET',
    'http.route': '/clients/{id}',
    'http.response.status_code': 401,
    'clinical_encounter.operation_id': 'getPatient',
  });
});

it('the start with OTEL_EXPORTER_OTLP_ENDPOINT fails without the OpenTelemetry package, and says that the variable needs it', async () => {
  const hooks = `export const resolve = (name, context, next) => {
    if (name.startsWith('@opentelemetry/')) throw Object.assign(new Error(name), { code: 'ERR_MODULE_NOT_FOUND' });
    return next(name, context);
  };`;
  const moduleUrl = (code: string): string => `data:text/javascript,${encodeURIComponent(code)}`;
  const install = `import { register } from 'node:module'; register(${JSON.stringify(moduleUrl(hooks))});`;
  const environment = { ...stage.environment, NODE_OPTIONS: `--import ${moduleUrl(install)}` };
  const server = startServer({ ...environment, OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' });
  expect(await server.ended).toEqual({ code: 1, signal: null });
  expect(server.stderr()).toMatch(/OTEL_EXPORTER_OTLP_ENDPOINT needs .* @opentelemetry\/sdk-node and .*: install them/);
  await expect(startServer(environment).started).resolves.toMatch(/^http/);
});
