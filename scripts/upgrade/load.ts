import { call } from '../../tests/support/http.js';
import { newToken, patientBody, type Credentials } from '../../tests/support/factories.js';

interface Seen {
  readonly isRead: boolean;
  /** The status of the response; 0 if the connection ended without one. */
  readonly status: number;
  readonly took: number;
}

/** Figures about the requests of one phase. */
export interface Figures {
  readonly requests: number;
  /** Numbers of responses that are no success, by status. */
  readonly failed: Readonly<Record<number, number>>;
  readonly readP95: number;
  readonly longest: number;
}

/** The members of responses that this load reads. */
interface Body {
  readonly user_id?: string;
  readonly id?: string;
  readonly data?: readonly { readonly id: string }[];
}

/** Writes per second. Reduce UPGRADE_RATE for a machine that 50 would overload. */
export const WRITES_PER_SECOND = Number(process.env['UPGRADE_RATE'] ?? 50);

/** Sends writes, and 10 reads a second, to the `targets` in turn, without waiting for responses. */
export async function startUpgradeLoad(first: string, credentials: Credentials) {
  const token = await newToken({ baseUrl: first }, credentials);
  const targets = [first];
  const created = { client: [] as string[], encounter: [] as string[] };
  const underWay = new Set<Promise<void>>();
  const patients: string[] = [];
  let seen: Seen[] = [];
  let count = 0;
  const send = async (target: string, json?: unknown): Promise<Body> => {
    const baseUrl = targets[(count += 1) % targets.length] ?? first;
    const sentAt = performance.now();
    const answer = await call({ baseUrl }, target, { token, json }).catch(() => undefined);
    seen.push({ isRead: json === undefined, status: answer?.status ?? 0, took: performance.now() - sentAt });
    return answer && answer.status < 300 ? (answer.body as Body) : {};
  };
  const idOf = ({ data }: Body): string | undefined => data?.[0]?.id;
  const clinicId = idOf(await send('GET /clinics?search=austin&isActive=true'));
  const treatmentIds = [idOf(await send('GET /tenants/products?search=semaglutide&isActive=true'))];
  const body = { clinicId, treatmentIds, reviewType: 'asynchronous', serviceQueue: 'provider_network' };
  const write = async (): Promise<void> => {
    const patientId = patients.pop();
    if (patientId !== undefined) {
      const { id } = await send('POST /encounters', { ...body, patientId });
      if (id !== undefined) created.encounter.push(id);
      return;
    }
    const { user_id: patient } = await send('POST /clients', patientBody());
    if (patient === undefined) return;
    created.client.push(patient);
    patients.push(patient);
  };
  const track = (work: Promise<unknown>): void => {
    const request: Promise<void> = work.then(() => undefined).finally(() => underWay.delete(request));
    underWay.add(request);
  };
  const writing = setInterval(() => track(write()), 1_000 / WRITES_PER_SECOND);
  const reading = setInterval(() => track(send('GET /encounters?limit=20')), 100);
  return {
    targets,
    created,
    /** The figures since the last call; requests that are still in progress count, too. */
    async figures(): Promise<Figures> {
      await Promise.all(underWay);
      const phase = seen;
      seen = [];
      const reads = phase.filter(({ isRead }) => isRead).map(({ took }) => took);
      const failed: Record<number, number> = {};
      for (const { status } of phase) if (status < 200 || status > 299) failed[status] = (failed[status] ?? 0) + 1;
      return {
        requests: phase.length,
        failed,
        readP95: reads.toSorted((a, b) => a - b)[Math.floor(reads.length * 0.95)] ?? 0,
        longest: Math.max(...phase.map(({ took }) => took)),
      };
    },
    async stop(): Promise<void> {
      clearInterval(writing);
      clearInterval(reading);
      await Promise.all(underWay);
    },
  };
}
