import { describeStore } from './contract/store.ts';
import { openMemoryStoreHarness, openRedisStoreHarness } from './store-harness.ts';

describeStore('contexts', 'memory', openMemoryStoreHarness);
describeStore('contexts', 'Redis', openRedisStoreHarness);
