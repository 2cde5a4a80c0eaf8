import { DOMParser, type Document, type Element } from '@xmldom/xmldom';

/** Reads markup as XML. Fails on markup that is not well-formed. */
export function readMarkup(text: string): Document {
  const onError = (level: string, message: string): void => {
    // A replaced character is what the reports write for characters that XML forbids.
    if (!message.startsWith('Unicode replacement character')) throw new Error(`${level}: ${message}`);
  };
  return new DOMParser({ onError }).parseFromString(text.replace('<!DOCTYPE html>\n', ''), 'application/xhtml+xml');
}

export function listElements(parent: Document | Element, name: string): Element[] {
  return [...parent.getElementsByTagName(name)];
}

export function listTexts(parent: Document | Element, name: string): string[] {
  return listElements(parent, name).map((element) => element.textContent ?? '');
}

/** The exact figures of a row: cells with a value are numbers, others are texts. */
function readRow(row: Element): (string | number)[] {
  return listElements(row, 'td').map((cell) => {
    const [data] = listElements(cell, 'data');
    return data === undefined ? (cell.textContent ?? '') : Number(data.getAttribute('value'));
  });
}

export function listRows(report: Document): (string | number)[][] {
  return listElements(report, 'tr').flatMap((row) => (listElements(row, 'th').length > 0 ? [] : [readRow(row)]));
}
