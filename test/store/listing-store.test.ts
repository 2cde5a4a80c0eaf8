import { describeStore } from './contract/store.ts';
import { openMemoryStoreHarness, openRedisStoreHarness } from './store-harness.ts';

describeStore('listings', 'memory', openMemoryStoreHarness);
describeStore('listings', 'Redis', openRedisStoreHarness);
