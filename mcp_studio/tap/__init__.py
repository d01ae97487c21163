"""The tap between another client and a server: messages pass unchanged unless a person or a rule intervenes."""
