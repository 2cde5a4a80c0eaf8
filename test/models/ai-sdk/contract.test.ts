import { describe } from 'vitest';
import { describeModel } from '../model-contract.ts';
import { AI_SDK_SUBJECTS } from './subjects.ts';

describe.each(AI_SDK_SUBJECTS)('$name', (subject) => {
  describeModel(subject);
});
