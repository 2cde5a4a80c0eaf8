export { openTestWorkers, type TestWorkers, type TestWorkersOptions } from './open-test-workers.ts';
