/**
 * The programs that can be a browser tool: how to find out whether an image has one, how it is started, and on which port inside it
 * listens. Each listens on loopback only and asks for no password: the HTTP server decides who gets to it.
 */
import { BRAND } from '../../src/brand.js';
import type { BrowserTool } from '../../src/kinds/workspace/browser-tools.js';
import { HOME } from '../../src/kinds/workspace/connect.js';

export interface ToolProgram {
  /** What the image is asked for. */
  readonly name: string;
  /** Exit code 0: it is the tool indeed. Absent: its name says so. */
  readonly proof?: readonly string[] | undefined;
  /** It needs the path that it is shown under, and gets it with every request; else the path is cut off. */
  readonly keepsPrefix: boolean;
  /** `prefix` without a slash at its end. */
  command(port: number, prefix: string): readonly string[];
}

export interface Tool {
  /** Out of the way of what people start themselves. */
  readonly port: number;
  /** The better one first. */
  readonly programs: readonly ToolProgram[];
}

/** Jupyter compares the origin with a host that it cannot know; the HTTP server has compared them already. */
function jupyter(name: string, ...more: readonly string[]): ToolProgram {
  return {
    name,
    keepsPrefix: true,
    command: (port, prefix) => [
      ...[name, ...more, '--no-browser', '--allow-root', '--ip=127.0.0.1', `--port=${port}`],
      // The older class name is what Notebook 6 reads.
      ...['ServerApp', 'NotebookApp'].flatMap((app) => [
        `--${app}.port_retries=0`,
        `--${app}.base_url=${prefix}/`,
        `--${app}.token=`,
        `--${app}.password=`,
        `--${app}.allow_origin=*`,
      ]),
    ],
  };
}

export const TOOLS: Readonly<Record<BrowserTool, Tool>> = {
  jupyter: {
    port: 47_811,
    programs: [
      jupyter('jupyter-lab'),
      jupyter('jupyter-notebook'),
      jupyter('jupyter-server'),
      // It may know no `lab`: the name comes with every part of Jupyter, and finds those that lie beside it.
      { ...jupyter('jupyter', 'lab'), proof: ['jupyter', 'lab', '--version'] },
    ],
  },
  vscode: {
    port: 47_812,
    programs: [
      {
        name: 'code-server',
        keepsPrefix: false,
        command: (port) => [
          ...['code-server', '--auth', 'none', '--bind-addr', `127.0.0.1:${port}`],
          ...['--disable-telemetry', '--disable-update-check', HOME],
        ],
      },
      {
        name: 'openvscode-server',
        keepsPrefix: true,
        command: (port, prefix) => [
          ...['openvscode-server', '--host', '127.0.0.1', '--port', String(port), '--without-connection-token'],
          ...['--server-base-path', prefix, '--telemetry-level', 'off', '--default-folder', HOME],
        ],
      },
    ],
  },
};

/** Says the first of the names that there is a program of; exit code 1: there is none. */
export function search(names: readonly string[]): readonly string[] {
  const script = 'for name; do command -v "$name" >/dev/null && { echo "$name"; exit 0; }; done; exit 1';
  return ['/bin/sh', '-c', script, 'sh', ...names];
}

/** Says the words of all tools that there is a program for, a line each. */
export function searchTools(): readonly string[] {
  const lines = Object.entries(TOOLS).map(([tool, { programs }]) => {
    const any = programs.map(({ name, proof }) =>
      [`command -v ${name}`, ...(proof ? [proof.join(' ')] : [])].join(' && '),
    );
    return `if { ${any.map((one) => `{ ${one}; }`).join(' || ')}; } >/dev/null 2>&1 </dev/null; then echo ${tool}; fi`;
  });
  return ['/bin/sh', '-c', lines.join('\n')];
}

/** Where what it writes is to be read, inside. */
export function logOf(tool: BrowserTool): string {
  return `/tmp/.${BRAND}-${tool}.log`;
}

/** Of `launch`: it ran already. */
export const FOUND = 'found';

/** Starts it in the background unless it runs already; says which of them, and its process id. */
export function launch(tool: BrowserTool, command: readonly string[]): readonly string[] {
  const pid = `/tmp/.${BRAND}-${tool}.pid`;
  const script = `
if kill -0 "$(cat ${pid} 2>/dev/null)" 2>/dev/null; then echo "${FOUND} $(cat ${pid})"; exit 0; fi
"$@" >${logOf(tool)} 2>&1 </dev/null &
echo $! >${pid}
echo "started $!"`;
  return ['/bin/sh', '-c', script, 'sh', ...command];
}

/** Exit code 0: the process is there. */
export function alive(pid: number): readonly string[] {
  return ['/bin/sh', '-c', 'kill -0 "$1"', 'sh', String(pid)];
}
