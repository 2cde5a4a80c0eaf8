import type { PiecePart, TurnPart } from '../../client/index.ts';

/*
 * The three protocols of front-ends (`ai-sdk`, `ag-ui`, `responses`) show the same turn. Each has a table that converts
 * the parts of the turn to its own events: `ChunkTable`, `EventTable` and `ResponseTable`. They share this sequence.
 *
 * A model step begins with its first piece (`enterStep`) and ends when another step begins, or the turn ends or waits
 * (`finishStep`). Within a step, text and reasoning are open until a call follows them. A `restart` takes the open step
 * back, because another model call was recorded for it. A restart of an earlier step means that a failover lost
 * messages that the front-end has, so the table ends with an error. A wait for answers ends the response in every
 * protocol: the front-end answers with a new request.
 *
 * That request continues the turn, and its response must not repeat what the front-end has. So the table skips the
 * steps before (`addKnown`): up to a given number (`knownSteps`), or up to the step that made an answered call. The turn
 * is read from its start in both cases. A table needs no state of an earlier response, and any server can continue.
 */

export type Mode = PiecePart['type'];

export type PartOf<Type, Part = TurnPart> = Part extends { readonly type: infer Own }
  ? Type extends Own
    ? Part
    : never
  : never;

/** Functions that convert the parts of one type each. */
export type PartWriters<Event> = { readonly [Type in TurnPart['type']]: (part: PartOf<Type>) => Event[] };

interface SkippedParts {
  /** Number of steps that the front-end has (none). */
  readonly knownSteps?: number;
  /** Calls that the request answers. Everything up to the step that made them is skipped. */
  readonly answered?: ReadonlySet<string> | undefined;
}

export abstract class PartTable<Event> {
  /** True once the turn has ended, or waits for the front-end. */
  isDone = false;
  /** Number of the open model step. 0: none is open. */
  protected step = 0;
  readonly #answered: ReadonlySet<string> | undefined;
  #knownSteps: number;

  constructor({ knownSteps = -1, answered }: SkippedParts) {
    this.#answered = answered;
    this.#knownSteps = answered === undefined ? knownSteps : Number.POSITIVE_INFINITY;
  }

  protected abstract readonly writers: PartWriters<Event>;

  add(part: TurnPart): Event[] {
    if (part.type === 'tool-call' && this.#answered?.has(part.call) === true) this.#knownSteps = part.step;
    if ('step' in part && part.step <= this.#knownSteps) return this.addKnown(part);
    return this.writers[part.type](part as never); // each writer takes the parts of its own type
  }

  /** True until the step that made the answered calls was read. */
  protected get isBeforeAnswer(): boolean {
    return this.#knownSteps === Number.POSITIVE_INFINITY;
  }

  /** Converts a part of a skipped step. */
  protected addKnown(_part: TurnPart): Event[] {
    return [];
  }

  protected enterStep(step: number): Event[] {
    if (step === this.step) return [];
    const finished = this.finishStep();
    this.step = step;
    return [...finished, ...this.beginStep(step)];
  }

  protected finishStep(): Event[] {
    const closed = this.step === 0 ? [] : this.closeStep(this.step);
    this.step = 0;
    return closed;
  }

  protected abstract beginStep(step: number): Event[];

  protected abstract closeStep(step: number): Event[];
}
