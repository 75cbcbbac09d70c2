import { defineConfig } from '@kubb/core';
import { pluginClient } from '@kubb/plugin-client';
import { pluginOas } from '@kubb/plugin-oas';
import { pluginTs } from '@kubb/plugin-ts';

const { CONTRACT, BASE_URL } = process.env;

export default defineConfig({
  root: '.',
  input: { path: CONTRACT },
  output: { path: 'kubb', format: false },
  plugins: [pluginOas({ generators: [] }), pluginTs(), pluginClient({ client: 'fetch', baseURL: BASE_URL })],
});
