"""The server: rules decide, services tell the story, api and web translate, app wires."""
