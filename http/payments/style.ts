/** The style of the payment pages: light and dark, narrow screens, and paper. Its colours have a contrast of at least 7 to 1 for text. */
import { createHash } from 'node:crypto';

export const STYLE = `
:root{color-scheme:light dark;--page:#f3f4f6;--sheet:#fff;--text:#16191d;--soft:#444b54;--line:#858c96;--main:#0b4a8f;--on:#fff;--note:#fff3cf;--edge:#7a5600;--good:#e2f5e6;--good-edge:#14672c;--bad:#fde7e7;--bad-edge:#96121b}
@media (prefers-color-scheme:dark){:root{--page:#101317;--sheet:#1a1f25;--text:#f1f3f5;--soft:#c3cad3;--line:#7f8894;--main:#a9d0ff;--on:#08213f;--note:#3a2f0f;--edge:#e2bd57;--good:#12301b;--good-edge:#7fd694;--bad:#3b1518;--bad-edge:#ff9ea3}}
*{box-sizing:border-box}
html{font:100%/1.5 system-ui,sans-serif;background:var(--page);color:var(--text)}
body{margin:0;padding:1rem}
main{max-width:34rem;margin:1rem auto;padding:1.5rem;background:var(--sheet);border:1px solid var(--line);border-radius:.5rem;overflow-wrap:anywhere}
main.paper{max-width:44rem}
h1{font-size:1.6rem;line-height:1.25;margin:0 0 1rem}
h2{font-size:1.1rem;margin:1.75rem 0 .5rem}
p{margin:.5rem 0 1rem}
a{color:var(--main)}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.35rem 1rem;margin:0 0 1.25rem}
dt{color:var(--soft)}
dd{margin:0}
.test,.said{padding:.65rem .85rem;border-left:.3rem solid var(--edge);background:var(--note);margin:0 0 1.25rem}
.said.good{border-color:var(--good-edge);background:var(--good)}
.said.bad{border-color:var(--bad-edge);background:var(--bad)}
.soft{color:var(--soft)}
form{margin:0}
fieldset{border:1px solid var(--line);border-radius:.4rem;margin:0 0 1rem;padding:.5rem 1rem 1rem;min-width:0}
legend{font-weight:600;padding:0 .35rem}
.choice{display:flex;gap:.6rem;align-items:flex-start;margin:.5rem 0 1rem}
.choice input{width:1.35rem;height:1.35rem;margin:.1rem 0 0;flex:none;accent-color:var(--main)}
button{display:block;width:100%;min-height:2.75rem;margin:.6rem 0 0;padding:.5rem 1rem;font:inherit;color:var(--main);background:var(--sheet);border:1px solid var(--main);border-radius:.4rem;cursor:pointer}
button.main{color:var(--on);background:var(--main);font-weight:600}
:focus-visible{outline:.2rem solid var(--main);outline-offset:.2rem}
table{width:100%;border-collapse:collapse;margin:.5rem 0 1rem}
th,td{text-align:left;vertical-align:top;padding:.4rem .75rem .4rem 0;border-bottom:1px solid var(--line)}
th:last-child,td:last-child{text-align:right;padding-right:0;white-space:nowrap;font-variant-numeric:tabular-nums}
tfoot tr:last-child{font-weight:600}
tfoot th{font-weight:inherit}
@media (max-width:26rem){body{padding:.5rem}main{margin:0 auto;padding:1rem}dl{grid-template-columns:1fr;gap:0}dd{margin:0 0 .6rem}}
@media print{
@page{margin:2cm}
:root{color-scheme:light;--page:#fff;--sheet:#fff;--text:#000;--soft:#222;--line:#777;--main:#000;--note:#fff;--edge:#000}
html{font-size:10.5pt}body{padding:0}main,main.paper{max-width:none;margin:0;padding:0;border:0}
.test{border:1px solid #000}nav,form{display:none}table,dl{break-inside:avoid}h2{break-after:avoid}
}
`;

/** For the content security policy: no other style is applied. */
export const STYLE_HASH = `sha256-${createHash('sha256').update(STYLE).digest('base64')}`;
