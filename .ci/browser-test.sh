#!/usr/bin/env bash
# Uses the HTML reports in headless Chromium. Needs the pages that the tests of verify leave in verify/target/report-samples.
# Says in one line why it is skipped where there is no Node.js, no Chromium and no way to install it, or no npm registry.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

pages=verify/target/report-samples
suite=verify/src/test/browser

skip() {
  printf 'browser test skipped: %s\n' "$1"
  exit 0
}

[ -f "$pages/diff.html" ] || { echo "no $pages: run the tests of verify first" >&2; exit 1; }
command -v npm > /dev/null || skip 'there is no Node.js'

browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
if [ -z "$browser" ]; then
  if [ "$(id -u)" = 0 ] && command -v apt-get > /dev/null; then
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium; } > /dev/null 2>&1 \
      || skip 'Chromium could not be installed'
  else
    skip 'there is no Chromium'
  fi
  browser=$(command -v chromium) || skip 'Chromium could not be installed'
fi

(cd "$suite" && npm ci --ignore-scripts --no-audit --no-fund > /dev/null 2>&1) || skip 'npm could not fetch playwright-core'
CHROMIUM=$browser node "$suite/report.test.js" "$pages" < /dev/null
