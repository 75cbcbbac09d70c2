import { readdirSync } from 'node:fs';
import { packageRoot } from '../../src/packageRoot.js';
import { cast } from '../support/cast.js';
import { useHarness } from '../support/harness.js';
import { newSandbox } from '../support/sandbox.js';
import type { partnerFlow } from './partnerFlow.js';

// Partners keep programs that they wrote for an earlier release: the flow of each release passes on the present service.

/** `expect` of released flows: objects may have members that were added later, which partners ignore. */
const openExpect = (received: unknown) => ({
  ...expect(received),
  toEqual: (expected: unknown) => expect([received]).toMatchObject([expected]),
});
const arrayOf = (element: unknown) => ({
  asymmetricMatch(given: readonly unknown[]) {
    for (const one of given) openExpect(one).toEqual(element);
    return true;
  },
});
Object.assign(globalThis, { openExpect: Object.assign(openExpect, expect, { arrayOf }) });

const harness = useHarness();

for (const name of readdirSync(new URL('generated/released', packageRoot))) {
  const version = name.replace('.json', '');
  const flow = (await import(new URL(`generated/flows/${version}.js`, packageRoot).href)) as {
    readonly partnerFlow: typeof partnerFlow;
  };
  flow.partnerFlow(`the service, written for ${version}`, {
    hasDocument: true,
    hasOrder: true,
    async open() {
      const { clientId, clientSecret } = await newSandbox(harness);
      return {
        ...{ baseUrl: harness.baseUrl, clientId, clientSecret },
        documentUrl: 'https://files.northwind.example/forms/jane-miller-intake.pdf',
        orderNo: cast.encounters.completed.order_no,
        close: async () => undefined,
      };
    },
  });
}
