"""The application for data stewards: a Streamlit front of the library's public names."""
