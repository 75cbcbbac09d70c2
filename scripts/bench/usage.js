// Loaded into a measured server (`node --import`) to report its CPU time and memory to the bench, which forked it.
import process from 'node:process';

process.on('message', () => {
  const { user, system } = process.cpuUsage();
  process.send({ cpuMicros: user + system, rssBytes: process.memoryUsage.rss() });
});
// End with the bench: the channel closes even if the bench was killed.
process.once('disconnect', () => process.exit());
