import { Command } from 'commander';
import { expect, test } from 'vitest';
import { wordTypedError } from '../../src/cli/typed-errors.ts';
import { TurnfoldError } from '../../src/domain/errors.ts';

const SHORTFALL = { wanted: { replicas: 1 }, reached: { replicas: 0 } };

test('an unconfirmed write of a subcommand names the whole command that repeats it', async () => {
  const program = new Command('turnfold');
  const rotate = program
    .command('keys')
    .command('rotate <key>')
    .option('--grace <time>')
    .action(() => undefined);
  await program.parseAsync(['keys', 'rotate', 'key-1', '--grace', '2h'], { from: 'user' });
  const error = new TurnfoldError('accepted_unsure', 'not confirmed', { details: SHORTFALL });
  expect(wordTypedError(error, rotate)).toMatchObject({
    message: expect.stringMatching(/ To check again, run: turnfold keys rotate key-1 --grace 2h$/) as string,
  });
});
