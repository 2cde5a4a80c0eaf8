import { describe } from 'vitest';
import { WIRE_FORMATS } from '../../src/domain/raw-items.ts';
import { connect } from './fixture.ts';
import { describeModel } from './model-contract.ts';

describe.each(WIRE_FORMATS)('%s', (format) => {
  describeModel({ name: format, format, connect: (provider, options) => connect(format, provider, options) });
});
