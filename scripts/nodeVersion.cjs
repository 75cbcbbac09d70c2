/**
 * Ends the process if Node is older than package.json demands. This file is loaded before everything else, and written
 * for any version of Node, because an older one may not even link the service's modules.
 */
const process = require('process');

const wanted = require('../package.json').engines.node.replace('>=', '');
const { node } = process.versions;
const root = require('path').dirname(__dirname);

if (node.localeCompare(wanted, 'en', { numeric: true }) < 0) {
  process.stderr.write(
    `Node.js ${node} is too old: install ${wanted} or newer, first in PATH, which now finds ${process.execPath} (in a shell, "nvm install" in ${root} does both).\n`,
  );
  process.exit(1);
}
