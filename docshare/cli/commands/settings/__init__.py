"""``docshare settings``: read and write the settings of files.

Read ``options`` first, and follow a value such as ``--views 3``: ``options`` declares the option and names the setting
it sets; ``gather`` turns what is given into API values and puts them in ``changes``, where the row of the setting in
``declarations`` validates each by ``contract.kinds``, as the server does. ``write`` sends them and reads the file back;
``stored`` compares it with the request, and ``describe`` prints what changed. The row is that of ``contract.settings``;
its kind says how values are typed, validated and shown. It imports no other command.
"""
