import { describeStore } from './contract/store.ts';
import { openMemoryStoreHarness, openRedisStoreHarness } from './store-harness.ts';

describeStore('calibrations', 'memory', openMemoryStoreHarness);
describeStore('calibrations', 'Redis', openRedisStoreHarness);
