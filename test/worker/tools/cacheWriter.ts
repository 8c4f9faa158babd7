/** A process that writes into a cache what it is told to, for the test of several writers. */
import { openCache } from '../../../src/worker/tools/cache.ts';

const [file = '', name = '', count = '0'] = process.argv.slice(2);
const cache = openCache(file, { search: 'corpus' });
for (let i = 0; i < Number(count); i++) {
  cache.keep('search', `${name} ${i}`, `answer ${i}`);
  cache.keep('search', 'same', name);
}
cache.close();
