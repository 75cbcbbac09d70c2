const { CONTRACT, BASE_URL } = process.env;

module.exports = { ces: { input: CONTRACT, output: { target: 'orval/index.ts', client: 'fetch', baseUrl: BASE_URL } } };
