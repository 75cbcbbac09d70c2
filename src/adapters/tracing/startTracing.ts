import type { IncomingMessage } from 'node:http';

/** The outcome of a request for its span; it contains nothing that the log line omits. */
interface RequestEnd {
  /** The path template of the operation. */
  readonly route: string | undefined;
  readonly operationId: string | undefined;
  /** The response's status; null if none was sent. */
  readonly status: number | null;
}

/** Sends a span for each request to OpenTelemetry. */
export type Tracing = Awaited<ReturnType<typeof startTracing>>;

/** Starts OpenTelemetry, which reads its own variables. @throws Error if its package is missing */
export async function startTracing(serviceName: string) {
  const [{ NodeSDK }, { ROOT_CONTEXT, SpanKind, SpanStatusCode, propagation, trace }] = await Promise.all([
    import('@opentelemetry/sdk-node'),
    import('@opentelemetry/api'),
  ]).catch((cause: unknown) => {
    const what = 'OTEL_EXPORTER_OTLP_ENDPOINT needs the packages @opentelemetry/sdk-node and @opentelemetry/api';
    throw new Error(`${what}: install them (scripts/production/install.md#build-and-start), or unset the variable.`, {
      cause,
    });
  });
  // Send spans only: Prometheus reads the metrics, and standard output has the log.
  const sdk = new NodeSDK({ serviceName, instrumentations: [], metricReaders: [], logRecordProcessors: [] });
  sdk.start();
  const tracer = trace.getTracer('clinical-encounter-service');
  return {
    startRequest({ headers, method = 'malformed' }: IncomingMessage) {
      const parent = propagation.extract(ROOT_CONTEXT, headers);
      const options = { kind: SpanKind.SERVER, attributes: { 'http.request.method': method } };
      const span = tracer.startSpan(method, options, parent);
      return {
        /** The id of the caller's trace, or of a new one. */
        traceId: span.spanContext().traceId,
        end({ route, operationId, status }: RequestEnd): void {
          if (route) span.updateName(`${method} ${route}`).setAttributes({ 'http.route': route });
          if (operationId) span.setAttribute('clinical_encounter.operation_id', operationId);
          if (status !== null) span.setAttribute('http.response.status_code', status);
          if (status === null || status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
          span.end();
        },
      };
    },
    stop: (): Promise<void> => sdk.shutdown(),
  };
}
