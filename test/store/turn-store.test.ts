import { describeStore } from './contract/store.ts';
import { openMemoryStoreHarness, openRedisStoreHarness } from './store-harness.ts';

describeStore('turns', 'memory', openMemoryStoreHarness);
describeStore('turns', 'Redis', openRedisStoreHarness);
