def pool_config(app, options):
    return ""
