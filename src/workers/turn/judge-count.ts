import type { Message } from '../../domain/message.ts';
import type { ModelAnswer } from '../../domain/model.ts';
import { type CountedRequest, type CountFault, findCountFault } from '../../domain/provider-count.ts';
import { contextSize } from '../../domain/size.ts';
import { checkUsage } from '../../domain/usage.ts';
import { countPictures } from '../../wire/tokens/message-tokens.ts';
import { findPictureFormula } from '../../wire/tokens/picture-tokens.ts';
import { requestUnderLease } from './make-room.ts';
import type { RunningTurn } from './running-turn.ts';

/** A request as turnfold counts it, and why the provider's count of it is not used. */
export interface JudgedRequest extends CountedRequest {
  readonly countFault?: CountFault;
}

/**
 * Compares the provider's token count of an answered request with turnfold's own. A count that no tokenizer could give is
 * reported and not used. If the provider cuts requests without an error, a pass makes the context smaller than what it reads.
 * @param messages the messages of the request
 */
export async function judgeCount(
  run: RunningTurn,
  answer: ModelAnswer,
  messages: readonly Message[],
): Promise<JudgedRequest> {
  const { journal, prepared, ports, ending } = run;
  const { size } = journal.conversation;
  const { profile } = prepared.agent.model;
  const { anchor: _, ...uncounted } = size;
  const counted = {
    countedTokens: contextSize(uncounted, { ...prepared.overhead, calibration: 1 }).tokens,
    pictureTokens: countPictures(messages, findPictureFormula(profile)),
  };
  const reported = checkUsage(answer.usage)?.inputTotal;
  if (reported === undefined) return counted;
  const countFault = findCountFault(reported, counted, size, prepared.overhead);
  const model = answer.model ?? profile.id;
  // One count beyond all bounds moves the factor only a little. Several may be true.
  if (countFault === undefined || countFault === 'excess') {
    void ports.calibrations.observe(model, reported, counted.countedTokens);
  }
  if (countFault === undefined) return counted;
  if (countFault === 'excess' || countFault === 'truncated') {
    ports.onEvent({
      type: 'count_ignored',
      ...ending.scope,
      model,
      why: countFault,
      reportedTokens: reported,
      countedTokens: counted.countedTokens,
    });
  }
  if (countFault === 'truncated' && prepared.policy.enabled) {
    await requestUnderLease(run, { reasons: ['overflow'], refusedTokens: reported });
  }
  return { ...counted, countFault };
}
