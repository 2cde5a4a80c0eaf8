import { type Line, type OutlineSection, sectionNames } from './outline.ts';

export interface Candidate extends Line {
  /** Tokens of the line and its line end. */
  readonly tokens: number;
  readonly literals: ReadonlySet<string>;
}

export interface LineBudget {
  readonly maxTokens: number;
  /** Tokens that are reserved for each section. The best lines of all sections then compete for the rest. */
  readonly shareTokens: Readonly<Record<OutlineSection, number>>;
  readonly headingTokens: Readonly<Record<OutlineSection, number>>;
  readonly weightOf: (literal: string) => number;
}

/**
 * Gain is what a line adds to the summary. A line whose gain fell below this share of its former gain waits for the
 * next round.
 */
const STALE = 0.7;
const MAX_ROUNDS = 6;

/**
 * Chooses the lines with the most gain per token. Each section first fills its own share, then all sections compete for
 * the rest. Gain is the line's worth plus the weight of literals that no chosen line names. A literal's own line gains
 * nothing once another line names it.
 */
export class LineChoice {
  readonly #budget: LineBudget;
  readonly #chosen = new Set<Candidate>();
  readonly #namedBy = new Map<string, number>();
  readonly #linesOf = new Map<OutlineSection, number>();
  #tokens = 0;

  constructor(budget: LineBudget) {
    this.#budget = budget;
  }

  get lines(): readonly Candidate[] {
    return [...this.#chosen];
  }

  chooseAll(candidates: readonly Candidate[]): void {
    const { maxTokens, shareTokens } = this.#budget;
    for (const section of sectionNames) {
      const own = candidates.filter((line) => line.section === section);
      this.#fill(own, Math.min(maxTokens, this.#tokens + shareTokens[section]));
    }
    this.#fill(candidates, maxTokens);
    this.#dropNamedTwice();
    this.#fill(candidates, maxTokens);
  }

  dropLeast(): void {
    const density = (line: Candidate): number => (line.worth + this.#weigh(line, 1)) / line.tokens;
    const least = this.lines.reduce((a, b) => (density(b) < density(a) ? b : a));
    this.#remove(least);
  }

  /** Adds lines in the order of their former gain per token. Lines whose gain fell meanwhile wait for the next round. */
  #fill(candidates: readonly Candidate[], upTo: number): void {
    let queue = candidates.filter((line) => !this.#chosen.has(line));
    for (let round = 0; round < MAX_ROUNDS && queue.length > 0; round += 1) {
      const stale: Candidate[] = [];
      const gains = new Map(queue.map((line) => [line, this.#gain(line)]));
      const density = (line: Candidate): number => (gains.get(line) ?? 0) / line.tokens;
      for (const line of queue.toSorted((a, b) => density(b) - density(a))) {
        const cost = this.#cost(line);
        if (this.#tokens + cost > upTo) continue;
        const gain = this.#gain(line);
        if (gain <= 0) continue;
        if (gain < STALE * (gains.get(line) ?? 0)) stale.push(line);
        else this.#add(line);
      }
      queue = stale;
    }
  }

  #dropNamedTwice(): void {
    for (const line of this.#chosen) {
      if (line.section === 'literals' && [...line.literals].every((text) => this.#namedCount(text) > 1)) {
        this.#remove(line);
      }
    }
  }

  #gain(line: Candidate): number {
    return line.worth + this.#weigh(line, 0);
  }

  /** Sums the weights of the line's literals that at most `namedAtMost` chosen lines name. */
  #weigh(line: Candidate, namedAtMost: number): number {
    let weight = 0;
    for (const text of line.literals) if (this.#namedCount(text) <= namedAtMost) weight += this.#budget.weightOf(text);
    return weight;
  }

  #namedCount(text: string): number {
    return this.#namedBy.get(text) ?? 0;
  }

  #cost({ section, tokens }: Candidate): number {
    return tokens + ((this.#linesOf.get(section) ?? 0) === 0 ? this.#budget.headingTokens[section] : 0);
  }

  #add(line: Candidate): void {
    this.#tokens += this.#cost(line);
    this.#chosen.add(line);
    this.#count(line, 1);
  }

  #remove(line: Candidate): void {
    this.#count(line, -1);
    this.#chosen.delete(line);
    this.#tokens -= this.#cost(line);
  }

  #count(line: Candidate, by: 1 | -1): void {
    this.#linesOf.set(line.section, (this.#linesOf.get(line.section) ?? 0) + by);
    for (const text of line.literals) this.#namedBy.set(text, this.#namedCount(text) + by);
  }
}
