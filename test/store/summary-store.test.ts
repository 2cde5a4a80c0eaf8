import { describeStore } from './contract/store.ts';
import { openMemoryStoreHarness, openRedisStoreHarness } from './store-harness.ts';

describeStore('summaries', 'memory', openMemoryStoreHarness);
describeStore('summaries', 'Redis', openRedisStoreHarness);
