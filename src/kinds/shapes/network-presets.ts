/**
 * Owns the curated lists of hosts that `network.egress.presets` names: what a package manager or a hub needs to be used, and
 * no more. Source: spec, "Conventions" 11. An entry is a name or `*.suffix`, in lower case.
 *
 * A list may grow: that changes what work reaches which begins afterwards.
 */
export const NETWORK_PRESETS: ReadonlyMap<string, readonly string[]> = new Map([
  ['alpine', ['dl-cdn.alpinelinux.org']],
  ['conda', ['conda.anaconda.org', 'repo.anaconda.com', 'anaconda.org', 'repo.prefix.dev']],
  ['crates', ['crates.io', 'index.crates.io', 'static.crates.io', 'static.rust-lang.org']],
  ['debian', ['deb.debian.org', 'security.debian.org', 'ftp.debian.org', 'cdn-fastly.deb.debian.org']],
  [
    'docker',
    ['registry-1.docker.io', 'auth.docker.io', 'index.docker.io', 'hub.docker.com', 'production.cloudflare.docker.com'],
  ],
  ['ghcr', ['ghcr.io', 'pkg-containers.githubusercontent.com']],
  [
    'github',
    [
      'github.com',
      'api.github.com',
      'codeload.github.com',
      'uploads.github.com',
      'raw.githubusercontent.com',
      '*.githubusercontent.com',
      'github-cloud.s3.amazonaws.com',
    ],
  ],
  ['gitlab', ['gitlab.com', 'registry.gitlab.com']],
  ['go', ['proxy.golang.org', 'sum.golang.org', 'index.golang.org', 'go.dev', 'dl.google.com']],
  ['huggingface', ['huggingface.co', '*.huggingface.co', 'hf.co', '*.hf.co']],
  ['maven', ['repo.maven.apache.org', 'repo1.maven.org', 'plugins.gradle.org', 'services.gradle.org']],
  ['npm', ['registry.npmjs.org', 'registry.yarnpkg.com', 'nodejs.org']],
  ['pypi', ['pypi.org', 'files.pythonhosted.org', 'pythonhosted.org']],
  ['pytorch', ['download.pytorch.org', 'download-r2.pytorch.org']],
  ['rubygems', ['rubygems.org', 'index.rubygems.org']],
  ['ubuntu', ['archive.ubuntu.com', 'security.ubuntu.com', 'ports.ubuntu.com', '*.archive.ubuntu.com']],
]);
