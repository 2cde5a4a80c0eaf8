import { escapeActing } from '../../domain/visible-text.ts';

/** Well-formed HTML or SVG. Texts of users, models and files are escaped in it. */
export class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export type MarkupValue = Markup | string | number | undefined | readonly MarkupValue[];

/** Writes markup. Values of the type `Markup` stay as they are, and all others are escaped. */
export function markup(parts: TemplateStringsArray, ...values: readonly MarkupValue[]): Markup {
  const [first = '', ...rest] = parts;
  return new Markup(first + rest.map((part, index) => renderValue(values[index]) + part).join(''));
}

function renderValue(value: MarkupValue): string {
  if (value === undefined) return '';
  if (value instanceof Markup) return value.text;
  if (typeof value === 'string' || typeof value === 'number') return escapeMarkup(String(value));
  return value.map(renderValue).join('');
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Makes control characters and marks that reorder text visible, and replaces characters that XML forbids. */
function escapeMarkup(text: string): string {
  return escapeActing(text.toWellFormed())
    .replaceAll(/[\uFFFE\uFFFF]/g, '\uFFFD')
    .replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
}
