import js from '@eslint/js';
import ts from 'typescript-eslint';

/** House rules that a machine can check; layout is left to people and their editors. */
export default ts.config(
  // Ignore tests/tools: its flows are compiled later, with clients that a test generates.
  { ignores: ['generated/**', 'node_modules/**', '.data/**', 'tests/tools/**'] },
  js.configs.recommended,
  ...ts.configs.strictTypeChecked.map((config) => ({ ...config, files: ['**/*.ts'] })),
  {
    files: ['**/*.ts'],
    languageOptions: { parserOptions: { project: './tsconfig.json', tsconfigRootDir: `${import.meta.dirname}/..` } },
    rules: {
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/no-confusing-void-expression': 'off',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      // Off: an operation is asynchronous by its type, even if it awaits nothing.
      '@typescript-eslint/require-await': 'off',
      // Off: a type parameter that is used only once still names what two functions agree on.
      '@typescript-eslint/no-unnecessary-type-parameters': 'off',
      // These options are marked as deprecated only to stand out; tests need them, because they talk to loopback.
      '@typescript-eslint/no-deprecated': [
        'error',
        {
          allow: ['oauth4webapi', 'openid-client'].map((name) => ({
            from: 'package',
            package: name,
            name: 'allowInsecureRequests',
          })),
        },
      ],
      // Off, because no class here has methods that could lose their `this`.
      '@typescript-eslint/unbound-method': 'off',
      // Off: libraries subclass and wrap classes, and their types are precise enough.
      '@typescript-eslint/no-unsafe-class-instance-assignment': 'off',
      // Forbid members named `then`: awaiting an object that has one calls it.
      'no-restricted-syntax': [
        'error',
        {
          selector:
            ':matches(Property, PropertyDefinition, MethodDefinition, TSPropertySignature, TSMethodSignature)[key.name="then"]',
          message: 'An object with a `then` is a thenable: choose another name.',
        },
      ],
      'max-lines': ['error', { max: 300 }],
      'no-console': 'error',
    },
  },
  // Allow `any` for parsed responses in tests: a test asserts what they contain.
  {
    files: ['tests/**/*.ts'],
    rules: {
      '@typescript-eslint/no-explicit-any': 'off',
      ...Object.fromEntries(
        ['argument', 'assignment', 'call', 'member-access', 'return'].map((use) => [
          `@typescript-eslint/no-unsafe-${use}`,
          'off',
        ]),
      ),
    },
  },
);
