/** Prints what Spectral (`oas`) and @readme/openapi-parser find in the contract that CONTRACT names. */
import { readFile } from 'node:fs/promises';
import { compileErrors, validate } from '@readme/openapi-parser';
import spectralCore from '@stoplight/spectral-core';
import rulesets from '@stoplight/spectral-rulesets';

const { CONTRACT: file = '' } = process.env;
const contract = JSON.parse(await readFile(file, 'utf8'));

const spectral = new spectralCore.Spectral();
spectral.setRuleset({ extends: [rulesets.oas] });
for (const { code, path, message } of await spectral.run(contract))
  console.log(`${code} ${path.join('/')}: ${message}`);

const result = await validate(contract);
if (!result.valid || result.warnings.length > 0) console.log(compileErrors(result));

// Without this line, a program that did not run would look like one that found nothing.
console.log('both linters have run');
