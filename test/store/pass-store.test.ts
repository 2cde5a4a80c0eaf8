import { describeStore } from './contract/store.ts';
import { openMemoryStoreHarness, openRedisStoreHarness } from './store-harness.ts';

describeStore('passes', 'memory', openMemoryStoreHarness);
describeStore('passes', 'Redis', openRedisStoreHarness);
