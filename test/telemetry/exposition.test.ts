import { expect, test } from 'vitest';
import { listSeries, parseExposition } from './exposition.ts';

const head = '# HELP a_total Some help.\n# TYPE a_total counter\n';
const histogram = '# HELP h Some help.\n# TYPE h histogram\n';

test('accepts valid text', () => {
  const page = `${head}a_total{x="1 \\"2\\" \\\\ \\n",y=""} 1.5e3\na_total 0\n\n${histogram}h_bucket{le="1"} 1\nh_bucket{le="+Inf"} 3\nh_sum 9\nh_count 3\n`;
  expect(Object.fromEntries(listSeries(parseExposition(page)))).toEqual({
    'a_total{x="1 \\"2\\" \\\\ \\n",y=""}': 1500,
    a_total: 0,
    'h_bucket{le="1"}': 1,
    'h_bucket{le="+Inf"}': 3,
    h_sum: 9,
    h_count: 3,
  });
});

test.each([
  ['a page that is cut off', `${head}a_total 1`, 'the last line does not end'],
  ['a sample without a family', 'a_total 1\n', 'sample of no family'],
  ['a sample of another family', `${head}b_total 1\n`, 'sample of no family'],
  ['a type without help', '# TYPE a_total counter\n', 'no help before'],
  ['an empty help', '# HELP a_total \n# TYPE a_total counter\n', 'not a sample'],
  ['an unknown type', '# HELP a_total Help.\n# TYPE a_total number\n', 'not a sample'],
  ['a family twice', `${head}${head}`, 'family twice'],
  ['a series twice', `${head}a_total{x="1"} 1\na_total{x="1"} 2\n`, 'a series twice'],
  ['a label twice', `${head}a_total{x="1",x="2"} 1\n`, 'label twice'],
  ['a quote that is not escaped', `${head}a_total{x="a"b"} 1\n`, 'not a sample'],
  ['a value that is no number', `${head}a_total undefined\n`, 'not a sample'],
  ['a counter below 0', `${head}a_total -1\n`, 'below 0'],
  [
    'buckets that fall',
    `${histogram}h_bucket{le="1"} 2\nh_bucket{le="+Inf"} 1\nh_sum 1\nh_count 1\n`,
    'not cumulative',
  ],
  ['no bucket for all', `${histogram}h_bucket{le="1"} 1\nh_sum 1\nh_count 1\n`, 'no bucket for all'],
  ['no sum', `${histogram}h_bucket{le="+Inf"} 1\nh_count 1\n`, 'no sum'],
])('refuses %s', (_fault, page, message) => {
  expect(() => parseExposition(page)).toThrow(message);
});
