/** Runs the flow with each generated client and prints its result. */
import * as heyApi from './heyApi.ts';
import * as kubb from './kubb.ts';
import * as openapiFetch from './openapiFetch.ts';
import * as orval from './orval.ts';
import * as swaggerTypescriptApi from './swaggerTypescriptApi.ts';

const { BASE_URL: baseUrl = '', CLIENT_ID: clientId = '', CLIENT_SECRET: clientSecret = '' } = process.env;
for (const [name, { flow }] of Object.entries({ openapiFetch, heyApi, orval, kubb, swaggerTypescriptApi })) {
  process.stdout.write(`${name} ${await flow({ baseUrl, clientId, clientSecret })}\n`);
}
