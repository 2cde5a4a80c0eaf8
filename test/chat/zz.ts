import { openClient } from '../../src/client/index.ts';
import { MortalRedis } from '../chaos/mortal-redis.ts';
import { ChatPage } from './chat-page.ts';
import { AGENT, ChatWorkers, readLog, SHARDS } from './chat-run.ts';
import { startChatServer } from './chat-server.ts';
import { findChromium, openBrowser } from './page-browser.ts';
const t0=Date.now(); const say=(...a:any[])=>console.log(((Date.now()-t0)/1000).toFixed(1),...a);
const redis = await MortalRedis.start(); say('redis');
const client = await openClient({ redisUrl: redis.url, shards: SHARDS }); say('client');
const workers = await ChatWorkers.start(redis.url, 1); say('workers');
const server = await startChatServer(client, AGENT); say(server.url);
const browser = await openBrowser(findChromium()!); say('browser');
const page = await ChatPage.open(browser, `${server.url}/#c1`); say('page');
const raw=(page as any)._p ?? browser.contexts()[0]!.pages()[0]!;
raw.on('pageerror',(e:any)=>say('PAGEERROR',e.stack)); raw.on('console',(m:any)=>say('console',m.text())); raw.on('requestfailed',(r:any)=>say('failed',r.url(),r.failure()?.errorText)); raw.on('response',(r:any)=>say('resp',r.status(),r.url()));
for (let i=0;i<3;i++){ say('read',JSON.stringify(await page.read())); await new Promise(r=>setTimeout(r,1000)); }
say('send', await page.send('turn 1: 5 words'));
for (let i=0;i<8;i++){ say('read',JSON.stringify(await page.read()), JSON.stringify(await readLog(client,'c1'))); await new Promise(r=>setTimeout(r,700)); }
await raw.screenshot({path:'/tmp/chat.png'});
say('html', (await raw.content()).slice(0,1500));
process.exit(0);
