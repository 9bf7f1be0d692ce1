// The page of the tensor view.

// Returns the page. `policy` is the source of the extension's own files in a policy, `style` and `script` are addresses.
function tensorPage({ policy, nonce, style, script }) {
  const allowed = `default-src 'none'; style-src ${policy}; script-src 'nonce-${nonce}'; base-uri 'none'; form-action 'none'`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${allowed}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="${style}">
<title>Tensor</title>
</head>
<body>
<header>
<h1><code id="reference"></code> <span id="form"></span></h1>
<p id="place"></p>
<p id="state" role="status"></p>
</header>
<main id="content" hidden>
<dl id="statistics"></dl>
<section aria-labelledby="elements-title">
<h2 id="elements-title">Elements</h2>
<p id="nothing" hidden></p>
<div id="picture">
<div id="controls" class="controls"></div>
<div class="map"><canvas id="heatmap" tabindex="0" role="img" aria-describedby="readout"></canvas><div id="cursor" hidden></div></div>
<p id="readout" role="status"></p>
<div class="legend">
<span id="least"></span><canvas id="ramp" width="256" height="1" role="img" aria-label="The colours from the lowest to the highest number"></canvas><span id="most"></span>
<label>of <select id="range"><option value="tensor">the tensor</option><option value="window">this window</option></select></label>
<ul id="specials"></ul>
</div>
</div>
</section>
<section aria-labelledby="histogram-title">
<h2 id="histogram-title">Histogram</h2>
<div class="controls"><label><input id="logarithmic" type="checkbox"> logarithmic counts</label></div>
<div id="histogram"></div>
</section>
</main>
<script type="module" nonce="${nonce}" src="${script}"></script>
</body>
</html>
`;
}

module.exports = { tensorPage };
