import { describe, expectTypeOf, it } from 'vitest';
import { z } from 'zod';
import type {
  AppendInput,
  ConversationsInput,
  EnqueueInput,
  ErrorCode,
  OpenClient,
  TurnContext,
  TurnView,
} from '../../src/api/client/index.ts';
import { type Agent, defineAgent, defineTool, type WorkersOptions } from '../../src/index.ts';
import { scriptedModel } from '../../src/providers/scripted.ts';

type Customer = { readonly user: string; readonly plan?: 'free' | 'pro' };

const lookUp = defineTool({
  name: 'look_up',
  description: 'looks an order up',
  input: z.object({ order: z.string() }),
  timeoutMs: 1_000,
  run: async ({ order }, { context }: { readonly context: Customer }) => ({ order, owner: context.user }),
});
const model = scriptedModel({ steps: [] });
const agents = [
  defineAgent({
    name: 'support',
    system: ({ user }: Customer) => `You help ${user}.`,
    model,
    tools: [lookUp],
    policy: {},
  }),
  defineAgent({ name: 'chat', system: 'You talk.', model, tools: [], policy: {} }),
];

type Client = OpenClient<typeof agents>;
type Enqueued = Parameters<Client['enqueueTurn']>[0];
const turn = { conversation: 'c1', input: 'x' } as const;

describe('a typed client', () => {
  it('enqueueTurn of a typed client accepts only its agents, each with its own context', () => {
    expectTypeOf<Enqueued['agent']>().toEqualTypeOf<'support' | 'chat'>();
    expectTypeOf({ ...turn, agent: 'chat' as const }).toExtend<Enqueued>();
    expectTypeOf({ ...turn, agent: 'support' as const, context: { user: 'u1' } }).toExtend<Enqueued>();
    expectTypeOf({ ...turn, agent: 'support' as const }).not.toExtend<Enqueued>();
    expectTypeOf({ ...turn, agent: 'support' as const, context: { user: 1 } }).not.toExtend<Enqueued>();
    expectTypeOf({ ...turn, agent: 'other' as const }).not.toExtend<Enqueued>();
  });

  it('append and conversations of a typed client accept only the names of its agents', () => {
    type Appended = Parameters<Client['append']>[0];
    type Listed = NonNullable<Parameters<Client['conversations']>[0]>;
    expectTypeOf<Appended['agent']>().toEqualTypeOf<'support' | 'chat'>();
    expectTypeOf<Listed['agent']>().toEqualTypeOf<'support' | 'chat' | undefined>();
    const messages = [{ role: 'user' as const, content: 'x' }];
    expectTypeOf({ conversation: 'c1', agent: 'chat' as const, messages }).toExtend<Appended>();
    expectTypeOf({ conversation: 'c1', agent: 'other' as const, messages }).not.toExtend<Appended>();
    expectTypeOf({ limit: 10 }).toExtend<Listed>();
    expectTypeOf({ agent: 'other' as const }).not.toExtend<Listed>();
  });

  it('an untyped client accepts any agent name and any context', () => {
    expectTypeOf<Parameters<OpenClient['enqueueTurn']>[0]>().toEqualTypeOf<EnqueueInput>();
    expectTypeOf<EnqueueInput['agent']>().toEqualTypeOf<string>();
    expectTypeOf<Parameters<OpenClient['append']>[0]>().toEqualTypeOf<AppendInput>();
    expectTypeOf<Parameters<OpenClient['conversations']>[0]>().toEqualTypeOf<ConversationsInput | undefined>();
    expectTypeOf<EnqueueInput['context']>().toEqualTypeOf<TurnContext | undefined>();
  });

  it('a client accepts agent types that are written by hand instead of inferred from agents', () => {
    type Named = Parameters<OpenClient<[{ name: 'support'; context: Customer }]>['enqueueTurn']>[0];
    expectTypeOf({ ...turn, agent: 'support' as const, context: { user: 'u1' } }).toExtend<Named>();
    expectTypeOf({ ...turn, agent: 'support' as const }).not.toExtend<Named>();
  });

  it('a worker accepts agents of any context type', () => {
    expectTypeOf(agents).toExtend<WorkersOptions['agents']>();
    expectTypeOf<Agent<'support', Customer>>().toExtend<Agent>();
  });
});

describe('the type of a turn', () => {
  it('the TypeScript type of a turn has an answer if completed, a failure if failed, and a wait if waiting', () => {
    const read = (view: TurnView): string | undefined => {
      if (view.state === 'completed') {
        expectTypeOf(view.answer.content).toEqualTypeOf<string>();
        expectTypeOf(view.settledAt).toEqualTypeOf<number>();
      } else if (view.state === 'failed') {
        expectTypeOf(view.failure.code).toEqualTypeOf<ErrorCode>();
      } else if (view.state === 'waiting') {
        expectTypeOf(view.waiting.until).toEqualTypeOf<number>();
      } else {
        expectTypeOf(view.answer).toEqualTypeOf<undefined>();
      }
      // Without narrowing each may be missing.
      return view.answer?.content ?? view.failure?.code;
    };
    expectTypeOf(read).returns.toEqualTypeOf<string | undefined>();
  });
});
