import { describeStore } from './contract/store.ts';
import { openMemoryStoreHarness, openRedisStoreHarness } from './store-harness.ts';

describeStore('sweep', 'memory', openMemoryStoreHarness);
describeStore('sweep', 'Redis', openRedisStoreHarness);
